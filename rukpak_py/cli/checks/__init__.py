"""`rukpakctl check`: what is wrong with an installation of the operator, before and after, and what to do about it.

Readers (`reader`, `read_before`, `read_after`) ask the API server with the rights of the caller and make facts of its
answers. Judgments (`server`, `before`, `operator`, `rights`, `webhook`, `deployments`) are pure: facts in, results out.
What the caller may not read is a fact of its own, `Unread`, and never passes for good.
"""
