"""Where a rendered workflow runs: `local` on this machine, Argo in a cluster, both behind `protocol.Engine`."""
