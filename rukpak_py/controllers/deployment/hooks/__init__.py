"""Hooks of charts: objects that are created at an event of an installation, one after the other, and waited for.

runs            which events an installation has, and by what a run of one of them is known
steps           what to do next, from the hooks and their records in the status: a pure function
hook_object     the object as it is created, and whose an object of its name is
verdict         whether a Job or a Pod has ended, and how
runner          one hook, from a look at its name to its end
hook_record     how it has ended, as the status has it
hook_facts      what a look at hooks comes to
stage           the effects: a job for the hook that is due, its record in the status, deletions by policy
given_up        hooks that nobody waits for any more: named, waited for all the same, cleaned up
deletion        the same for a deployment that is being deleted

A hook has ended when its record stands in the status; it is written before anything else happens. A hook without a
record is found in the cluster by the mark of its run, so no process runs a hook that another one has begun.
"""
