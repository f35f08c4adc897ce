"""The Argo workflows of gpulab, one module per WorkflowTemplate: `build(settings)` gives an object and does no I/O."""
