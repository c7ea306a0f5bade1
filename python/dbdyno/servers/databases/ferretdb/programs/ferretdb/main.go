// A server of MongoDB's protocol on SQLite files: FerretDB 1 with users, who log in by SCRAM. Its
// own command can't be built from its module alone, and its package to embed knows no users; this
// module is named below FerretDB's so that it may import what both are made of.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/FerretDB/FerretDB/internal/clientconn"
	"github.com/FerretDB/FerretDB/internal/clientconn/connmetrics"
	"github.com/FerretDB/FerretDB/internal/handler/registry"
	"github.com/FerretDB/FerretDB/internal/util/password"
	"github.com/FerretDB/FerretDB/internal/util/state"
)

const version = "1.24.0"

func main() {
	var listen clientconn.NewListenerOpts
	var users registry.NewHandlerOpts
	flag.StringVar(&listen.TCP, "tcp", "", "address and port to listen on")
	flag.StringVar(&listen.Unix, "unix", "", "socket to listen on")
	flag.StringVar(&listen.TLS, "tls", "", "address and port to listen on for TLS")
	flag.StringVar(&listen.TLSCertFile, "tls-certificate", "", "file of the server's certificate")
	flag.StringVar(&listen.TLSKeyFile, "tls-key", "", "file of its key")
	flag.StringVar(&users.SetupUsername, "user", "", "a user to make, of the database admin; "+
		"the password is in the environment, FERRETDB_PASSWORD")
	data := flag.String("data", "", "folder of the SQLite files")
	about := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *about {
		fmt.Println("FerretDB " + version)
		return
	}
	users.SetupDatabase = "admin"
	users.SetupPassword = password.WrapPassword(os.Getenv("FERRETDB_PASSWORD"))
	users.SetupTimeout = time.Minute
	users.SQLiteURL = "file:" + *data + "/"
	if err := serve(&listen, &users); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers until the process is asked to end.
func serve(listen *clientconn.NewListenerOpts, users *registry.NewHandlerOpts) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	metrics := connmetrics.NewListenerMetrics()
	states, err := state.NewProvider("")
	if err != nil {
		return err
	}
	if err = states.Update(func(s *state.State) {
		s.DisableTelemetry()
		s.TelemetryLocked = true
	}); err != nil {
		return err
	}
	users.Logger, users.ConnMetrics = slog.Default(), metrics.ConnMetrics
	users.StateProvider, users.TCPHost = states, listen.TCP
	users.TestOpts = registry.TestOpts{
		CappedCleanupPercentage: 10, BatchSize: 100, EnableNewAuth: true,
	}
	handler, closeBackend, err := registry.NewHandler("sqlite", users)
	if closeBackend != nil {
		defer closeBackend()
	}
	if err != nil {
		return err
	}
	listen.Mode, listen.Metrics = clientconn.NormalMode, metrics
	listen.Handler, listen.Logger = handler, slog.Default()
	listener, err := clientconn.Listen(listen)
	if err != nil {
		return err
	}
	listener.Run(ctx)
	return nil
}
