// A server of MongoDB's protocol on a PostgreSQL with the extension documentdb: FerretDB 2 with
// users, who log in by SCRAM. Its package to embed asks nobody for a password; this module is named
// below FerretDB's so that it may import what both are made of.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/v2/internal/handler/middleware"
	"github.com/FerretDB/FerretDB/v2/internal/util/logging"
	"github.com/FerretDB/FerretDB/v2/internal/util/setup"
	"github.com/FerretDB/FerretDB/v2/internal/util/state"
)

const version = "2.7.0"

func main() {
	var opts setup.SetupOpts
	flag.StringVar(&opts.TCPAddr, "tcp", "", "address and port to listen on")
	flag.StringVar(&opts.UnixAddr, "unix", "", "socket to listen on")
	flag.StringVar(&opts.TLSAddr, "tls", "", "address and port to listen on for TLS")
	flag.StringVar(&opts.TLSCertFile, "tls-certificate", "", "file of the server's certificate")
	flag.StringVar(&opts.TLSKeyFile, "tls-key", "", "file of its key")
	folder := flag.String("state", "", "folder for what it notes of itself; "+
		"the URL of its PostgreSQL is in the environment, FERRETDB_POSTGRESQL")
	about := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *about {
		fmt.Println("FerretDB " + version)
		return
	}
	if err := serve(&opts, *folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers until the process is asked to end.
func serve(opts *setup.SetupOpts, folder string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	states, err := state.NewProviderDir(folder)
	if err != nil {
		return err
	}
	if err = states.Update(func(s *state.State) {
		off := false
		s.Telemetry, s.TelemetryLocked = &off, true
	}); err != nil {
		return err
	}
	log := &logging.NewHandlerOpts{Base: "console", Level: slog.LevelWarn, SkipChecks: true}
	opts.Logger = logging.Logger(os.Stderr, log, "")
	opts.StateProvider, opts.Metrics = states, middleware.NewMetrics()
	opts.PostgreSQLURL, opts.Auth = os.Getenv("FERRETDB_POSTGRESQL"), true
	opts.Mode = middleware.NormalMode
	running := setup.Setup(ctx, opts)
	if running == nil {
		return fmt.Errorf("FerretDB did not start: its log says why")
	}
	running.Run(ctx)
	return nil
}
