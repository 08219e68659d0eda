"""The core: rules, seeds, the engine, the view, the adapter."""
