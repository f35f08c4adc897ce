"""The local engine: the workflow that Argo runs in a cluster, on one machine, node by node with the same outcome.

It runs what our pipelines use (`features` lists it) and refuses the rest by name before anything starts. It plans
nothing across machines: that is Argo's job.
"""
