package harness

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Outside is an address for documentation (RFC 5737) that the loopback interface has in a
// namespace of InNamespace. Who connects from it is a client from beyond loopback, and yet
// nothing leaves the namespace.
const Outside = "192.0.2.1"

const (
	// outerVar is the environment variable with the namespace that a test has left.
	outerVar = "MITHRIL_OUTER_NAMESPACE"

	// ownNamespace is a link whose text names the namespace of a process (namespaces(7)).
	ownNamespace = "/proc/self/ns/net"

	namespaceTimeout = 2 * time.Minute // for one test
)

// InNamespace runs a test of a package, not a subtest, where no network can be reached: in
// a network namespace of its own (network_namespaces(7)) with a loopback interface alone,
// which has 127.0.0.1, ::1 and Outside. The test runs in a child process, which is this
// program with that test, and the programs that it starts are in the namespace too. What
// stands in front of InNamespace runs on both sides. It needs CAP_SYS_ADMIN.
func InNamespace(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if outer := os.Getenv(outerVar); outer != "" {
		if err := furnishNamespace(outer); err != nil {
			t.Fatal(err)
		}
		test(t)
		return
	}
	program, err := Binary(true)
	if err != nil {
		t.Fatal(err)
	}
	if output, err := runInNamespace(t.Name(), "MITHRIL_BIN="+program); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// runInNamespace runs a test of this program in a new namespace and returns what it has
// written.
func runInNamespace(test string, environment ...string) (output string, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	outer, err := os.Readlink(ownNamespace)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(program, "-test.run", "^"+test+"$", "-test.v", "-test.timeout", namespaceTimeout.String())
	cmd.Env = append(append(os.Environ(), environment...), outerVar+"="+outer)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	c, err := spawnCommand(cmd)
	if errors.Is(err, syscall.EPERM) {
		return "", fmt.Errorf("a network namespace cannot be made without CAP_SYS_ADMIN, run the tests as root: %w", err)
	}
	if err != nil {
		return "", err
	}
	<-c.exited
	output = c.log.String()
	if !cmd.ProcessState.Success() {
		return output, fmt.Errorf("in the namespace %s ended with %v", test, cmd.ProcessState)
	}
	if !strings.Contains(output, "--- PASS: "+test+" ") {
		return output, fmt.Errorf("in the namespace %s was not run", test)
	}
	return output, nil
}

// furnishNamespace gives the loopback interface of a new namespace its addresses. outer is
// the namespace that it must not touch.
func furnishNamespace(outer string) error {
	inner, err := os.Readlink(ownNamespace)
	if err != nil {
		return err
	}
	if inner == outer {
		return fmt.Errorf("$%s names %s, which this process is in", outerVar, outer)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// An interface that comes up gets 127.0.0.1 and ::1 from the kernel. An alias, a name
	// with a colon, is another IPv4 address of the interface (netdevice(7)).
	outside := netip.MustParseAddr(Outside).As4()
	for _, request := range []struct {
		number uint
		name   string
		set    func(*unix.Ifreq) error
	}{
		{unix.SIOCSIFFLAGS, "lo", func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP); return nil }},
		{unix.SIOCSIFADDR, "lo:1", func(r *unix.Ifreq) error { return r.SetInet4Addr(outside[:]) }},
		{unix.SIOCSIFNETMASK, "lo:1", func(r *unix.Ifreq) error { return r.SetInet4Addr([]byte{255, 255, 255, 255}) }},
	} {
		r, err := unix.NewIfreq(request.name)
		if err == nil {
			err = request.set(r)
		}
		if err == nil {
			err = unix.IoctlIfreq(fd, request.number, r)
		}
		if err != nil {
			return fmt.Errorf("set up %s in the namespace, ioctl %#x: %w", request.name, request.number, err)
		}
	}
	return nil
}
