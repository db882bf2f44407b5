package explain

import "drover/noun/fault"

// pages has one page for each code, in the order of the codes.
var pages = []Page{
	{
		Code: fault.CodeNoCluster, Title: "no cluster is known here",
		Meaning: "The folder of credentials has no client.json or no certificate, so the command does not know which cluster to ask and as whom.",
		Todo: []string{
			"Start a cluster on this host: `drover up`.",
			"If it exists already, name its folder: --config-dir DIR or DROVER_CONFIG.",
			"If the cluster is elsewhere, ask its admin for credentials, or join this host as a machine: `drover join TOKEN`.",
		},
	},
	{
		Code: fault.CodeUnreachable, Title: "the server cannot be reached",
		Meaning: "None of the servers in the credentials could be connected to: nothing listens there, it does not answer, or its name is not known.",
		Todo: []string{
			"On the server's host, start it: `drover up` or `drover server`.",
			"Look whether the address in client.json is the one the server advertises.",
			"Between hosts, check that a firewall lets the server's port through.",
		},
	},
	{
		Code: fault.CodeConnectionLost, Title: "the connection to the server was lost",
		Meaning: "The server was reached and then went away during the call. Whether a change was made is not known; asking again is safe, as requests carry an id.",
		Todo: []string{
			"Look what became of it: `drover status`.",
			"If the server ends again and again, its log in the data folder says why.",
		},
	},
	{
		Code: fault.CodeNoAnswer, Title: "no answer from the server in time",
		Meaning: "The server was reached but the call took longer than it may. What was asked for may still be done.",
		Todo: []string{
			"Look at the state: `drover status`.",
			"Ask again; if it stays slow, look at the load and the disk of the server.",
		},
	},
	{
		Code: fault.CodeNoLeader, Title: "this server does not lead",
		Meaning: "Changes are made by the leader only, and the server that was asked is not the leader, or none is elected at the moment. The client goes to the leader by itself; the error remains when there is none.",
		Todo: []string{
			"Wait a few seconds and ask again.",
			"With several servers, most of them must run: start the missing ones.",
		},
	},
	{
		Code: fault.CodeOutcomeUnknown, Title: "it is not known whether the change was made",
		Meaning: "The server lost its leadership or its disk while the change was being stored, after it had been sent to the log.",
		Todo: []string{
			"Look at the state before asking again: `drover status`.",
			"A repeated request with the same id is answered with the first outcome.",
		},
	},
	{
		Code: fault.CodeWrongCluster, Title: "this is a server of another cluster",
		Meaning: "The server's certificate was signed by another authority than the one in the credentials. Either the address leads to another cluster, or somebody stands in between.",
		Todo: []string{
			"Check the address in client.json.",
			"If the cluster was made anew, its old credentials are of no use: remove the folder and get new ones.",
		},
	},
	{
		Code: fault.CodeClocksDiffer, Title: "the clocks differ",
		Meaning: "A certificate is not valid yet by this machine's clock. The error names both moments.",
		Todo: []string{
			"Look at the clock: `date`.",
			"Let it be set: `timedatectl set-ntp true`.",
		},
	},
	{
		Code: fault.CodeExpired, Title: "a certificate has expired",
		Meaning: "Certificates live for a limited time and are renewed while their owner runs. One that was off for too long has to get a new one.",
		Todo: []string{
			"Look at the clock first: `date`.",
			"On the host of the server, `drover up` writes new credentials of the admin.",
			"For a machine, make a token and join again: `drover join-token`.",
		},
	},
	{
		Code: fault.CodeRevoked, Title: "the certificate was revoked",
		Meaning: "Somebody removed the user or the machine that this certificate stands for.",
		Todo: []string{
			"Ask an admin for a new credential.",
			"A machine joins again: `drover join TOKEN`.",
		},
	},
	{
		Code: fault.CodeNotAllowed, Title: "not allowed",
		Meaning: "The server does not know the caller, or the caller's role does not allow the call.",
		Todo: []string{
			"See who you are to the server: the error names the identity.",
			"Use the credentials of somebody who may: --config-dir DIR.",
		},
	},
	{
		Code: fault.CodeTokenRefused, Title: "the join token is refused",
		Meaning: "A token can be used once, for some time, in the cluster that made it. This one was used, is too old, or is of another cluster.",
		Todo: []string{
			"Make a new one on a host with credentials: `drover join-token`.",
		},
	},
	{
		Code: fault.CodeBadToken, Title: "that is not a join token",
		Meaning: "A token looks like drover-1-SECRET-DIGEST@HOST:PORT. Parts were lost, often at a line break.",
		Todo: []string{
			"Copy the whole line that `drover join-token` printed.",
		},
	},
	{
		Code: fault.CodePortInUse, Title: "the port is in use",
		Meaning: "Another program, or another Drover, listens on the address.",
		Todo: []string{
			"If it is a Drover of yours: `drover status`, or stop it with `drover down`.",
			"Listen elsewhere: `drover up --listen 127.0.0.1:7444`.",
		},
	},
	{
		Code: fault.CodeUpRunning, Title: "another drover up runs",
		Meaning: "A data folder belongs to one drover up at a time.",
		Todo: []string{
			"Use the one that runs: `drover status`.",
			"Stop it: `drover down`.",
		},
	},
	{
		Code: fault.CodeNewerData, Title: "the data is of a newer version",
		Meaning: "A newer version of Drover wrote the folder. Older ones do not touch it, as they could lose what they do not know.",
		Todo: []string{
			"Use the newer program: `drover version` shows which one this is.",
			"Or use another folder: --data DIR.",
		},
	},
	{
		Code: fault.CodeForeignData, Title: "the folder belongs to something else",
		Meaning: "The folder of data or of credentials is of another cluster, or has files that are not Drover's. It is left as it is.",
		Todo: []string{
			"Name another folder: --data DIR, --config-dir DIR.",
			"If the old cluster is not needed any more, stop and remove it with its own folders: `drover down --purge`.",
		},
	},
	{
		Code: fault.CodeNoSuchApplication, Title: "there is no such application",
		Meaning: "No application of the model has this name. It may be misspelt, removed, or in another model.",
		Todo: []string{
			"See what there is: `drover status`.",
			"Name the model: --model NAME.",
		},
	},
	{
		Code: fault.CodeNoSuchUnit, Title: "there is no such unit",
		Meaning: "No unit of the model has this name. Numbers of removed units are not used again.",
		Todo: []string{
			"See what there is: `drover status`.",
		},
	},
	{
		Code: fault.CodeNoSuchMachine, Title: "there is no such machine",
		Meaning: "No machine of the model has this id.",
		Todo: []string{
			"See what there is: `drover status`.",
		},
	},
	{
		Code: fault.CodeNoSuchRelation, Title: "there is no such relation",
		Meaning: "The two applications are not related by these endpoints.",
		Todo: []string{
			"See the relations: `drover status`.",
			"Make one: `drover integrate APP:ENDPOINT APP:ENDPOINT`.",
		},
	},
	{
		Code: fault.CodeNoSuchLRP, Title: "there is no such LRP",
		Meaning: "No long-running process is desired under this guid.",
		Todo: []string{
			"See what there is: `drover lrp list`.",
		},
	},
	{
		Code: fault.CodeNoSuchTask, Title: "there is no such task",
		Meaning: "No task has this guid. Tasks are deleted some time after they completed.",
		Todo: []string{
			"See what there is: `drover task list`.",
		},
	},
	{
		Code: fault.CodeNoSuchModel, Title: "there is no such model",
		Meaning: "The model named by --model or DROVER_MODEL does not exist.",
		Todo: []string{
			"Leave it out to use the model \"default\".",
		},
	},
	{
		Code: fault.CodeNoSuchCell, Title: "there is no such cell",
		Meaning: "No cell has this id.",
		Todo: []string{
			"See what there is: `drover cells`.",
		},
	},
	{
		Code: fault.CodeNoSuchThing, Title: "there is nothing of this name",
		Meaning: "No application, unit, machine, relation, cell, LRP or task has the name.",
		Todo: []string{
			"See what there is: `drover status`.",
			"Write tasks as task:GUID, machines as machine:ID, indexes of an LRP as GUID/INDEX.",
		},
	},
	{
		Code: fault.CodeUsage, Title: "the command was used wrongly",
		Meaning: "An argument is missing, too many, or not understood. Nothing was done.",
		Todo: []string{
			"See how it is used: add --help to the command.",
		},
	},
	{
		Code: fault.CodeNoSuchCommand, Title: "there is no such command",
		Meaning: "The word is no command of drover. Nothing was done.",
		Todo: []string{
			"See the commands: `drover --help`.",
		},
	},
	{
		Code: fault.CodeExists, Title: "it exists already",
		Meaning: "Names of LRPs and tasks are unique. Nothing was changed.",
		Todo: []string{
			"See what is there: `drover lrp list`, `drover task list`.",
			"Use another guid, or remove the old one first.",
		},
	},
	{
		Code: fault.CodeLifeForbids, Title: "its life does not allow it",
		Meaning: "Something that is being removed takes nothing new: no units, no relations, no options. It cannot be brought back.",
		Todo: []string{
			"See what it waits for: `drover why NAME`.",
			"Wait until it is gone, then make it anew: `drover wait app/NAME --for removed`.",
		},
	},
	{
		Code: fault.CodeNotYet, Title: "it cannot be removed yet",
		Meaning: "Something still refers to it: units to a machine, a subordinate to its principal, a unit to a relation's scope. It goes when they are gone.",
		Todo: []string{
			"See what holds it: `drover why NAME`.",
		},
	},
	{
		Code: fault.CodeHookFailed, Title: "a hook failed",
		Meaning: "A hook of the charm ended with an error. The unit does nothing more until the hook is run again or skipped; most failures are retried a few times by themselves.",
		Todo: []string{
			"Read what the hook said: `drover logs UNIT --hook last`.",
			"Run it again now: `drover resolve UNIT`.",
			"Go on as if it had been done: `drover resolve UNIT --no-retry`.",
		},
	},
	{
		Code: fault.CodeCrashed, Title: "an instance has crashed",
		Meaning: "The process ended although it should run, or did not become healthy. It is started again after a pause that grows with each crash, and not any more after many.",
		Todo: []string{
			"Read what it wrote: `drover logs LRP/INDEX`.",
			"See when it starts again: `drover why LRP/INDEX`.",
		},
	},
	{
		Code: fault.CodeTaskFailed, Title: "a task failed",
		Meaning: "The task's process ended with an error, was cancelled, or could not be run. Tasks are run at most once: it is not tried again.",
		Todo: []string{
			"Read what it wrote: `drover logs task:GUID`.",
			"See the reason: `drover task list GUID`.",
		},
	},
	{
		Code: fault.CodeStillWaiting, Title: "the time for waiting is up",
		Meaning: "What was asked for is not reached yet. Nothing was undone: it goes on in the background.",
		Todo: []string{
			"See what it waits for: `drover why NAME`.",
			"Wait again, longer: `drover wait NAME --timeout 30m`.",
		},
	},
	{
		Code: fault.CodeNotPlaceable, Title: "no cell can take it",
		Meaning: "Each cell lacks room, has the wrong stack, is being evacuated, or is not there. It is placed as soon as a cell can take it.",
		Todo: []string{
			"See each cell's reason: `drover why NAME --cells`.",
			"See the room: `drover cells`.",
			"Add a machine, or ask for less.",
		},
	},
	{
		Code: fault.CodeNoCharmStore, Title: "Drover has no charm store",
		Meaning: "A bare name says nothing about where the charm is.",
		Todo: []string{
			"Give a folder, a .charm file, or one of the examples in the program: `drover deploy demo`.",
		},
	},
	{
		Code: fault.CodeBadCharm, Title: "the charm cannot be used",
		Meaning: "The folder or archive is not a valid charm: metadata.yaml is missing or wrong, a hook cannot be run, a file is too large or leads outside. Nothing was uploaded.",
		Todo: []string{
			"Correct what the error names and deploy again.",
			"Hooks need their run bit: `chmod +x hooks/*`.",
		},
	},
	{
		Code: fault.CodeNoEndpoints, Title: "no endpoints match",
		Meaning: "Two applications can be integrated where one provides and the other requires the same interface.",
		Todo: []string{
			"See the endpoints in each charm's metadata.yaml.",
			"Name them: `drover integrate APP:ENDPOINT APP:ENDPOINT`.",
		},
	},
	{
		Code: fault.CodeManyEndpoints, Title: "more than one way to integrate",
		Meaning: "The two applications have several pairs of endpoints that match, and Drover does not choose.",
		Todo: []string{
			"Name the endpoints: `drover integrate APP:ENDPOINT APP:ENDPOINT`. The error lists them.",
		},
	},
	{
		Code: fault.CodeUnknownOption, Title: "there is no such option",
		Meaning: "The application's charm has no option of this name. Nothing was changed.",
		Todo: []string{
			"See the options: `drover config APP`.",
		},
	},
	{
		Code: fault.CodeBadOption, Title: "the option cannot have this value",
		Meaning: "The value is not of the option's type. Nothing was changed.",
		Todo: []string{
			"See the types: `drover config APP`.",
		},
	},
}
