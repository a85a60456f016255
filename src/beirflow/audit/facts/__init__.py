"""The table of facts that records, the configuration, the catalogue and the sources state, and its interpreter."""
