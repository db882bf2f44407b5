package executor

import (
	"fmt"
	"net"
	"strconv"
)

// freePort finds a port of the address that nobody listens on and no container
// was given. Another program may still take it before the container does; then
// the container fails to listen, which it says itself.
func freePort(address string, taken func(port int) bool) (int, error) {
	const attempts = 100
	for range attempts {
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			return 0, err
		}
		_, text, err := net.SplitHostPort(l.Addr().String())
		_ = l.Close()
		if err != nil {
			return 0, err
		}
		port, err := strconv.Atoi(text)
		if err != nil {
			return 0, err
		}
		if !taken(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("%d attempts gave only ports of other containers", attempts)
}
