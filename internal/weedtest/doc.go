// Package weedtest starts a real SeaweedFS on loopback for tests and for the
// demo, fills it, ages what it holds, and breaks it on purpose.
//
// A Cluster is one throwaway SeaweedFS: its processes, ports and files. It
// starts in about ten seconds, most of which a fresh filer spends on making
// sure that it is alone; so a test package shares one Cluster (see Shared) and
// each test begins with a Client, which removes what the test made.
//
// A Proxy stands in front of a gateway or filer and answers for chosen calls;
// a Link is a TCP connection that can be cut or go silent.
package weedtest
