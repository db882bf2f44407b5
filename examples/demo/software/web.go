package software

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
)

// Web is the program demo-web: it answers with which instance it is. Its address
// and port are those that the cell gave it.
func Web(ctx context.Context, _ []string) error {
	address, port := os.Getenv("DROVER_ADDRESS"), os.Getenv("PORT")
	if port == "" {
		return errors.New("PORT is not set: demo-web runs as a process on a cell")
	}
	me := fmt.Sprintf("%s instance %s on cell %s", os.Getenv("DROVER_LRP"), os.Getenv("DROVER_INDEX"), os.Getenv("DROVER_CELL"))
	return serve(ctx, net.JoinHostPort(address, port), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, me)
	}))
}
