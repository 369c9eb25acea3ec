"""The exceptions a caller may see, each also of a standard kind.

TmasError
├─ SettingsError (ValueError)          a setting is unknown, misspelt or out of range
├─ ProblemError (ValueError)           a problem can't be used as it was given
├─ PromptError (ValueError)            a template is missing or uses an unknown name
├─ CallError (ConnectionError)         a model call gave no reply
│  ├─ EndpointDown                     nothing answers, or it keeps failing: trying later may help
│  └─ RequestRefused                   the endpoint says no: the same request fails again
├─ BudgetSpent (RuntimeError)          a budget doesn't allow another call
├─ AllCandidatesFailed (RuntimeError)  no candidate of an iteration came through
├─ PolicyMismatch (RuntimeError)       the server samples from other weights than the trainer's
├─ ThreadError (LookupError)           no such thread, or it can't go on
│  ├─ ThreadBusy                       another process works on it
│  └─ ThreadChanged                    it was made with other prompts, models or settings
├─ ItemError (ValueError)              an item of a memory isn't there, or can't be taken in
├─ StorageError (OSError)              a folder or database can't be used
├─ ClusterError (RuntimeError)         a cluster can't be used, or its workers keep dying
│  └─ ClusterGone                      … or its head is gone
├─ TrainingStopped (RuntimeError)      a training run can't go on with sense
└─ MissingExtra (ImportError)          an optional dependency isn't installed

Every message reads `where: what is wrong, with the value seen. What to do.`
"""

from tmas_graph.usage import Usage


class TmasError(Exception):
    """Any error that this package raises on purpose; its text is meant for people."""


class SettingsError(TmasError, ValueError):
    """A setting is unknown, misspelt or out of range."""


class ProblemError(TmasError, ValueError):
    """A problem can't be used as it was given."""


class PromptError(TmasError, ValueError):
    """A template is missing, or uses a name that its agent doesn't give."""


class CallError(TmasError, ConnectionError):
    """A model call gave no reply."""

    usage = Usage()
    """What its attempts have cost all the same."""

    def __init__(self, message: str, status: int | None = None) -> None:
        """Keep the HTTP `status`, where there was one."""
        super().__init__(message, status)
        self.status = status

    def __str__(self) -> str:
        """Give the message alone."""
        return str(self.args[0])


class EndpointDown(CallError):
    """Nothing answers at the endpoint, or it keeps failing; trying later may help."""


class RequestRefused(CallError):
    """The endpoint refused the request; sent again unchanged it would be refused again."""


class BudgetSpent(TmasError, RuntimeError):
    """A budget doesn't allow another call; what is finished is kept."""

    usage = Usage()
    """What the call's other requests have cost, where it took several."""


class AllCandidatesFailed(TmasError, RuntimeError):
    """No candidate of an iteration came through; a resume tries that iteration again."""


class PolicyMismatch(TmasError, RuntimeError):
    """The server's log-probabilities aren't those of the policy that is trained."""

    def __init__(self, message: str, difference: float = 0.0) -> None:
        """Keep the largest absolute `difference`."""
        super().__init__(message, difference)
        self.difference = difference

    def __str__(self) -> str:
        """Give the message alone."""
        return str(self.args[0])


class ThreadError(TmasError, LookupError):
    """There is no such thread, or it can't go on."""


class ThreadBusy(ThreadError):
    """Another process works on the thread."""


class ThreadChanged(ThreadError):
    """The thread was made with other prompts, models or settings than are in force now."""


class ItemError(TmasError, ValueError):
    """There is no such item in a memory, or one can't be taken in as it was given."""


class StorageError(TmasError, OSError):
    """A folder or a database can't be used."""


class ClusterError(TmasError, RuntimeError):
    """A cluster can't be used, or its workers keep dying; what is finished is kept."""


class ClusterGone(ClusterError):
    """The head of a cluster is gone; Ray can't be left in order any more."""


class TrainingStopped(TmasError, RuntimeError):
    """A training run can't go on with sense; the message has the numbers that say so."""


class MissingExtra(TmasError, ImportError):
    """An optional dependency isn't installed."""
