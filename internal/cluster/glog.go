package cluster

import "github.com/seaweedfs/seaweedfs/weed/util/fla9"

// quietGlog keeps SeaweedFS's logger from opening log files in the temporary
// directory, and from writing anything below a warning to standard error.
// What the imported helpers find wrong comes back as an error.
func quietGlog() {
	for name, value := range map[string]string{"logtostderr": "true", "v": "-1"} {
		if f := fla9.Lookup(name); f != nil && f.Value.String() != value {
			// The names and values are glog's own: Set does not fail.
			_ = f.Value.Set(value)
		}
	}
}
