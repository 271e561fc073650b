"""Schedules: a playbook that is started at times of a calendar.

`document` reads what a person wrote, `times` knows the calendar, `due` decides what is to be done with the times that
have come, and `starter` does it. Each time has one start, whichever servers live: the start has a key made of the
schedule and the time, which a store takes once, and the row of the schedule moves on behind it.
"""
