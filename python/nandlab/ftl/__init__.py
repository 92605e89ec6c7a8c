"""FTLs as Python sees them: what each needs of a drive, and custom FTLs.

``class MyFtl(nandlab.ftl.Ftl)`` decides all, ``class MyHooks(nandlab.ftl.PageHooks)`` some
decisions of `page`; ``nandlab.run(..., ftl=MyFtl)`` runs it, ``nandlab.ftl.check(MyFtl)`` holds it
to the promises of an FTL.
"""

from nandlab._core import Flash
from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.ftl.conformance import Conformance, check
from nandlab.ftl.page import Page

__all__ = ["Conformance", "Flash", "Ftl", "Page", "PageHooks", "check"]
