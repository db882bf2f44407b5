// Command drover-shim is the parent of one process of a container. The agent
// starts it; see act/executor/shim.
package main

import (
	"os"

	"drover/act/executor/shim"
)

func main() { os.Exit(shim.Main(os.Args)) }
