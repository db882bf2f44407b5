package fake_test

import (
	"testing"

	"drover/act/provisioner"
	"drover/act/provisioner/fake"
	"drover/act/provisioner/providertest"
)

func TestFakePassesTheSuite(t *testing.T) {
	providertest.Run(t, providertest.Config{
		New:    func(*testing.T) provisioner.Provider { return fake.New() },
		Reopen: func(_ *testing.T, p provisioner.Provider) provisioner.Provider { return p },
		Halt:   func(_ *testing.T, p provisioner.Provider, id string) { p.(*fake.Provider).Halt(id) },
	})
}
