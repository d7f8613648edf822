"""Hooks of charts: objects that are created at an event of an installation, one after the other, and waited for.

around          when hooks are due: before and after an installation, and a deletion
runs            which events an installation has, by what a run of one is known, and what is next
hook_object     the object as it is created; how it ends; the situation of what is recorded and what is live
hook_objects    reads, writes and watches of these objects
stage           one effect for each situation of the hook that is due
superseded      one for each situation of a hook whose installation another one superseded
facts           what a look at hooks comes to, and what this process remembers

A hook has ended when its record stands in the status; it is written before anything else happens. A hook without a
record is found in the cluster by the mark of its run, so no process runs a hook that another one has begun.
"""
