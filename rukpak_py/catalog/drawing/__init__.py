"""Pictures of upgrade graphs: one model (graph_model), and a file for each format that it is written in."""
