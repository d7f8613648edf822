"""The page: deployments and what belongs to them, as HTML that a server renders. It reads, and changes nothing.

It shows the values of `diagnosis`, read with the viewer's own rights. A server on loopback serves it (`rukpakctl ui`),
and so does the operator's content server where a setting says so.
"""
