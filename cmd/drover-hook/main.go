// Command drover-hook is every hook tool: a link to it named after the tool is
// on the PATH of a running hook.
package main

import (
	"os"

	"drover/act/hooktool/client"
)

func main() { os.Exit(client.Main(os.Args)) }
