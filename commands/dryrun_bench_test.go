package commands

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

// BenchmarkDryRun compares a dry run of 200,000 objects, a tenth of them due,
// with a bare listing of the same tree.
func BenchmarkDryRun(b *testing.B) {
	const objects = 200_000
	c := memcluster.New(memcluster.Config{Start: noon.AddDate(0, 0, -30)})
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(c.CreateBucket("logs", engine.Unversioned, false))
	must(c.SetRules("logs", oneDay))
	for i := range objects {
		o := memcluster.Object{Size: int64(i)}
		if i%10 > 0 {
			o.Mtime = noon
		}
		_, err := c.PutObject("logs", fmt.Sprintf("app/%04d/%07d.log", i/500, i), o)
		must(err)
	}
	c.AdvanceTo(noon)

	b.Run("listing", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			folders := []string{""}
			seen := 0
			for len(folders) > 0 {
				folder := folders[0]
				folders = folders[1:]
				page := engine.Page{Bucket: "logs", Folder: folder, Limit: 1024}
				for more := true; more; {
					entries, err := c.List(b.Context(), page)
					must(err)
					for _, e := range entries {
						if e.Nature.IsFolder() {
							folders = append(folders, strings.TrimPrefix(folder+"/"+e.Name, "/"))
						} else {
							seen++
						}
					}
					if more = len(entries) == page.Limit; more {
						page.After = entries[len(entries)-1].Name
					}
				}
			}
			if seen != objects {
				b.Fatalf("%d objects", seen)
			}
		}
		b.ReportMetric(float64(objects)*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
	})
	for _, args := range [][]string{
		{"--output", "jsonl"}, {"--output", "tsv"}, {"--output", "json"}, {"--output", "html", "--limit", "0"}, {"--summary", "--output", "json"}, {"--summary", "--output", "json", "--forecast", "90d"},
	} {
		b.Run("dry-run "+strings.Join(args, " "), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				host := Host{
					In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Now: c.HostTime, Env: []string{"HOME=" + b.TempDir()},
					Dial: func(context.Context, DialOptions) (*Cluster, error) {
						return &Cluster{Filer: c, Close: func() error { return nil }}, nil
					},
				}
				if code := Main(b.Context(), append([]string{"dry-run", "--quiet"}, args...), host); code != exitDone {
					b.Fatalf("exit %d", code)
				}
			}
			b.ReportMetric(float64(objects)*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
		})
	}
}
