"""Notification of listeners during a fit, and the History that it leaves."""
