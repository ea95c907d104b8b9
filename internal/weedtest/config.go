package weedtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Role names a server of a cluster.
type Role string

// Server is the one process of a cluster that is not Separate; it plays
// Master, Volume, Filer and Gateway.
const (
	Server   Role = "server"
	Master   Role = "master"
	Volume   Role = "volume"
	Filer    Role = "filer"
	Filer2   Role = "filer2"
	Gateway  Role = "s3"
	Gateway2 Role = "s3-2"
	Admin    Role = "admin"
)

// Config describes a cluster. The zero Config is one process on loopback
// without TLS and without credentials.
type Config struct {
	// Separate starts master, volume server, filer and gateway as processes of
	// their own, so that one can be killed without the others.
	Separate bool
	// SecondFiler and SecondGateway add a process each. The second filer has a
	// store of its own.
	SecondFiler, SecondGateway bool
	// Credentials of the only S3 identity, an administrator. Zero: the gateway
	// asks for none.
	Credentials Credentials
	// TLS makes every gRPC connection mutual TLS, with a fresh authority.
	TLS bool
	// SigningKey is jwt.filer_signing.key; empty is none.
	SigningKey string
	// ConventionalPorts puts each gRPC port at the HTTP port plus 10000. It is
	// elsewhere otherwise, and addresses say so.
	ConventionalPorts bool
}

// Credentials are an S3 key pair.
type Credentials struct {
	AccessKey, SecretKey string
}

func (c Credentials) isZero() bool { return c == Credentials{} }

// filerRoles and gatewayRoles list what the configuration asks for.
func (c Config) filerRoles() []Role {
	if c.SecondFiler {
		return []Role{Filer, Filer2}
	}
	return []Role{Filer}
}

func (c Config) gatewayRoles() []Role {
	if c.SecondGateway {
		return []Role{Gateway, Gateway2}
	}
	return []Role{Gateway}
}

// processRoles lists the processes in the order in which they start.
func (c Config) processRoles() []Role {
	roles := []Role{Server}
	if c.Separate {
		roles = []Role{Master, Volume, Filer, Gateway}
	}
	if c.SecondFiler {
		roles = append(roles, Filer2)
	}
	if c.SecondGateway {
		roles = append(roles, Gateway2)
	}
	return roles
}

// portIndex is the role's place among the ports of a slot.
func (r Role) portIndex() int {
	return slices.Index([]Role{Master, Volume, Filer, Gateway, Filer2, Gateway2, Admin}, r)
}

// arguments is the command line of a role's process.
func (c *Cluster) arguments(role Role) []string {
	a := []string{"-ip=" + loopback, "-ip.bind=" + loopback}
	flag := func(prefix, name string, value any) {
		a = append(a, fmt.Sprintf("-%s%s=%v", prefix, name, value))
	}
	ports := func(prefix string, r Role) {
		flag(prefix, "port", c.Addr(r).Port)
		flag(prefix, "port.grpc", c.Addr(r).GRPCPort)
	}
	master := func(prefix string) {
		ports(prefix, Master)
		flag(prefix, "volumeSizeLimitMB", 64)
		// A restarted master otherwise waits ten seconds for an election that it
		// can only win.
		flag(prefix, "electionTimeout", "1s")
		flag(prefix, "telemetry", false)
	}
	volume := func(prefix string) {
		ports(prefix, Volume)
		flag(prefix, "max", 400)
		flag(prefix, "preStopSeconds", 0)
	}
	filer := func(prefix string, r Role) {
		ports(prefix, r)
		flag(prefix, "localSocket", filepath.Join(c.dir(r), "filer.sock"))
	}
	gateway := func(prefix string, r Role) {
		ports(prefix, r)
		flag(prefix, "port.iceberg", 0)
		flag(prefix, "port.lance", 0)
		flag(prefix, "localSocket", filepath.Join(c.dir(r), "s3.sock"))
		if !c.config.Credentials.isZero() {
			flag(prefix, "config", filepath.Join(c.dir(r), "s3.json"))
		}
	}

	switch role {
	case Server:
		a = append([]string{"server", "-dir=" + c.dir(role), "-filer", "-s3"}, a...)
		master("master.")
		volume("volume.")
		filer("filer.", Filer)
		gateway("s3.", Gateway)
	case Master:
		a = append([]string{"master", "-mdir=" + c.dir(role)}, a...)
		master("")
	case Volume:
		a = append([]string{"volume", "-dir=" + c.dir(role), "-master=" + c.Addr(Master).String()}, a...)
		volume("")
	case Filer, Filer2:
		a = append([]string{"filer", "-master=" + c.Addr(Master).String()}, a...)
		filer("", role)
	case Gateway, Gateway2:
		a = append([]string{"s3", "-filer=" + c.Addr(Filer).String()}, a...)
		gateway("", role)
	}
	return a
}

// writeFiles writes a role's configuration into its directory. Every file that
// weed would look for elsewhere too is there, so nothing of the host's is
// read.
func (c *Cluster) writeFiles(dir string) error {
	files := map[string]string{
		"security.toml": c.securityTOML(),
		// A bucket is a collection of its own; the master would otherwise make
		// seven volumes for its first object.
		"master.toml": "[master.volume_growth]\ncopy_1 = 1\n",
		"filer.toml":  "[leveldb2]\nenabled = true\ndir = " + strconv.Quote(filepath.Join(dir, "filerldb2")) + "\n",
	}
	if !c.config.Credentials.isZero() {
		identities, err := identitiesJSON(c.config.Credentials)
		if err != nil {
			return err
		}
		files["s3.json"] = identities
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// securityTOML configures clients and servers alike.
func (c *Cluster) securityTOML() string {
	var b strings.Builder
	if c.config.SigningKey != "" {
		fmt.Fprintf(&b, "[jwt.filer_signing]\nkey = %q\n", c.config.SigningKey)
	}
	if c.authority != nil {
		fmt.Fprintf(&b, "[grpc]\nca = %q\n", c.authority.caFile)
		for _, section := range []string{"master", "volume", "filer", "s3", "client", "admin", "worker"} {
			fmt.Fprintf(&b, "[grpc.%s]\ncert = %q\nkey = %q\n", section, c.authority.certFile, c.authority.keyFile)
		}
	}
	return b.String()
}

func identitiesJSON(cr Credentials) (string, error) {
	type credential struct {
		AccessKey string `json:"accessKey"`
		SecretKey string `json:"secretKey"`
	}
	type identity struct {
		Name        string       `json:"name"`
		Credentials []credential `json:"credentials"`
		Actions     []string     `json:"actions"`
	}
	data, err := json.Marshal(map[string][]identity{"identities": {{
		Name:        "admin",
		Credentials: []credential{{cr.AccessKey, cr.SecretKey}},
		Actions:     []string{"Admin"},
	}}})
	return string(data), err
}
