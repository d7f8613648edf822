"""Serving certificates of webhooks, and the CA in everything that calls them.

A want (`wants`) is a Secret, the host names to serve, and the callers that have to trust it. What is found of a want
(`steps.Seen`) decides the next step; `steps.take_steps` takes step after step until nothing is left to do. Each step
is one write, so a crash between two of them is healed by the next pass.

* `deployments` keeps the wants that the content of a BundleDeployment asks for, with the identity of the deployment.
* `own_certificate` keeps the one want of the operator itself, for its webhooks and its content server.
"""
