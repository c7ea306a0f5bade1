// A server of MongoDB's protocol on SQLite files: FerretDB 1 as a library. (Its own command can't
// be built from its module alone.) It has no users: whoever connects may do anything.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

const version = "1.24.0"

func main() {
	tcp := flag.String("tcp", "", "address and port to listen on")
	unix := flag.String("unix", "", "socket to listen on")
	tls := flag.String("tls", "", "address and port to listen on for TLS")
	certificate := flag.String("tls-certificate", "", "file of the server's certificate")
	key := flag.String("tls-key", "", "file of its key")
	data := flag.String("data", "", "folder of the SQLite files")
	about := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *about {
		fmt.Println("FerretDB " + version)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{
			TCP: *tcp, Unix: *unix, TLS: *tls, TLSCertFile: *certificate, TLSKeyFile: *key,
		},
		Handler:   "sqlite",
		SQLiteURL: "file:" + *data + "/",
	})
	if err == nil {
		err = server.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
