package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/client"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/emptypb"
)

func (a *App) userCmd() *cobra.Command {
	cmd := group(&cobra.Command{Use: "user", Short: "Who may use the cluster, in which role"})
	cmd.AddCommand(a.userAddCmd(), a.userListCmd(), a.userRemoveCmd())
	return cmd
}

func (a *App) userAddCmd() *cobra.Command {
	req := &droverv1.AddUserRequest{}
	var out string
	cmd := &cobra.Command{
		Use: "add NAME --role ROLE", Short: "Add a user and write the user's credential folder", Args: needArgs("NAME"),
		Long: `Add a user and write the user's credential folder.

Roles: a viewer reads, an operator also changes applications, processes and
tasks, an admin also users, tokens and servers. The key is made here; only its
certificate comes from the server. Whoever has the folder is the user.`,
		Example: "  drover user add ann --role operator\n  DROVER_CONFIG=drover-ann drover status",
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Name = args[0]
			if out == "" {
				out = "drover-" + req.Name
			}
			return a.addUser(cmd, req, out)
		},
	}
	cmd.Flags().StringVar(&req.Role, "role", "", "admin, operator or viewer")
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder to write (default drover-NAME)")
	_ = cmd.MarkFlagRequired("role") // there is such a flag
	return cmd
}

// addUser makes the folder first, so that no certificate is signed for a key
// that cannot be kept.
func (a *App) addUser(cmd *cobra.Command, req *droverv1.AddUserRequest, dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Conflict, "%s is there already", dir).Try("drover user add " + req.Name + " --role ROLE --out DIR")
	}
	s, err := a.services()
	if err != nil {
		return err
	}
	key, err := pki.NewKey()
	if err != nil {
		return err
	}
	req.RequestId = a.NewID()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fault.New(fault.Denied, "cannot make %s", dir).Why("%s", reason(err)).Wrap(err)
	}
	pair, folder, err := client.AddUser(cmd.Context(), s.Admin, key, req)
	if err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	if err := folder.Save(dir, client.AdminName, pair); err != nil {
		return err
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if err := a.write([]byte(dir + "\n")); err != nil {
		return err
	}
	a.say("User %s is %s. The folder is the credential: hand it over safely, it is used with", req.Name, article(req.Role))
	a.say("  DROVER_CONFIG=%s drover status", dir)
	return nil
}

func article(role string) string {
	if role == "viewer" {
		return "a viewer"
	}
	return "an " + role
}

func (a *App) userListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List users", Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			resp, err := s.Admin.ListUsers(cmd.Context(), connect.NewRequest(&emptypb.Empty{}))
			if err != nil {
				return err
			}
			users := resp.Msg.Users
			out := shown{data: object{{"schema", "drover.users/v1"}, {"users", plain(messages(users))}}}
			t := newTable("User", "Role", "Certificate", "Expires")
			for _, u := range users {
				out.names = append(out.names, u.Name)
				serial, expires := u.Serial, ""
				if serial == "" {
					serial = "made on the server's host"
				} else {
					expires = time.Unix(0, u.Expires).UTC().Format(time.RFC3339)
				}
				t.add(u.Name, u.Role, serial, expires)
			}
			out.table = func(w io.Writer) { t.print(w, a.painter()) }
			return a.show(cmd, out)
		},
	}
	formatFlag(cmd)
	return cmd
}

func (a *App) userRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a user: its next call is refused", Args: needArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			_, err = s.Admin.RemoveUser(cmd.Context(), connect.NewRequest(&droverv1.RemoveUserRequest{RequestId: a.NewID(), Name: args[0]}))
			if err != nil {
				return err
			}
			a.say("User %s is removed.", args[0])
			return nil
		},
	}
}

func (a *App) certCmd() *cobra.Command {
	cmd := group(&cobra.Command{Use: "cert", Short: "Certificates"})
	cmd.AddCommand(a.certShowCmd(), a.certRevokeCmd())
	return cmd
}

func (a *App) certShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Show the certificate that this command line uses", Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir := a.configDir()
			cert, err := pki.LoadCertificate(filepath.Join(dir, client.AdminName+".crt"))
			if err != nil {
				return fault.New(fault.NotFound, "there is no certificate in %s", dir).Why("%s", reason(err)).Try("drover up").Wrap(err)
			}
			id, err := pki.IdentityOf(cert)
			if err != nil {
				return err
			}
			serial, until := cert.SerialNumber.Text(16), cert.NotAfter.UTC().Format(time.RFC3339)
			return a.show(cmd, shown{
				data: object{{"schema", "drover.certificate/v1"}, {"identity", id.String()}, {"cluster", id.Cluster},
					{"serial", serial}, {"expires", until}, {"folder", dir}},
				names: []string{serial},
				table: func(w io.Writer) {
					t := newTable("Identity", "Certificate", "Expires", "Folder")
					t.add(id.String(), serial, until, dir)
					t.print(w, a.painter())
				},
			})
		},
	}
	formatFlag(cmd)
	return cmd
}

func (a *App) certRevokeCmd() *cobra.Command {
	req := &droverv1.RevokeCertificateRequest{}
	cmd := &cobra.Command{
		Use: "revoke SERIAL|user:NAME|machine:ID", Short: "Refuse a certificate from the next call on", Args: needArgs("a SERIAL, a user:NAME or a machine:ID"),
		Long: `Refuse a certificate from the next call on.

A machine whose certificate was revoked joins again with a token of its own:
drover join-token --machine ID.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			req.RequestId, req.Target, req.Model = a.NewID(), args[0], a.flags.model
			resp, err := s.Admin.RevokeCertificate(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			a.say("Revoked: %s.", resp.Msg.Revoked)
			return nil
		},
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the audit")
	return cmd
}

func (a *App) auditCmd() *cobra.Command {
	req := &droverv1.ListAuditRequest{}
	cmd := &cobra.Command{
		Use: "audit", Short: "Show who changed what", Args: needArgs(),
		Long: "Show who changed what, the newest last. To follow it: drover events --kind audit.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			resp, err := s.Admin.ListAudit(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			entries := resp.Msg.Entries
			out := shown{data: object{{"schema", "drover.audit/v1"}, {"entries", plain(messages(entries))}}}
			t := newTable("Time", "Who", "Did", "What")
			for _, e := range entries {
				out.names = append(out.names, e.Who+" "+e.Did)
				t.add(at(e.At), e.Who, e.Did, e.What)
			}
			out.table = func(w io.Writer) { t.print(w, a.painter()) }
			return a.show(cmd, out)
		},
	}
	cmd.Flags().Int32VarP(&req.Limit, "lines", "n", 100, "last entries to show")
	formatFlag(cmd)
	return cmd
}
