"""Facts that the project ships as YAML: datasets, published scores, licences, tasks; and the schemas of all YAML."""
