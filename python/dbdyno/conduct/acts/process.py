"""A member's processes end and are started again, or stand still for a while."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.conduct.acts.act import Begun, Scene, come_back, start_again


@dataclass(frozen=True, slots=True)
class Kill:
    """Its process gets SIGKILL."""

    scene: Scene

    def begin(self) -> Begun:
        """Returns when its process has ended."""
        begun = Begun()
        self.scene.member.server.node.kill()
        return begun

    def end(self) -> None:
        """Starts the member."""
        start_again(self.scene.member)


@dataclass(frozen=True, slots=True)
class KillServer:
    """Its database server gets SIGKILL; what supervises it goes on."""

    scene: Scene

    def begin(self) -> Begun:
        """Returns when the signal is sent."""
        supervisor = self.scene.server.members.supervisor
        assert supervisor is not None, "refused before anything is started"
        begun = Begun()
        supervisor.kill_server(self.scene.member.name)
        return begun

    def end(self) -> None:
        """Waits for the supervisor to start it."""
        come_back(self.scene.member)


@dataclass(frozen=True, slots=True)
class Stop:
    """Its process ends in order."""

    scene: Scene

    def begin(self) -> Begun:
        """Returns when its process has ended."""
        begun = Begun()
        self.scene.member.server.node.stop()
        return begun

    def end(self) -> None:
        """Starts the member."""
        start_again(self.scene.member)


@dataclass(frozen=True, slots=True)
class Pause:
    """By SIGSTOP, and SIGCONT; in the guard's journal before it begins."""

    scene: Scene

    def begin(self) -> Begun:
        """The journal took time before it."""
        self.scene.member.server.node.pause()
        return Begun()

    def end(self) -> None:
        """Lets the member go on."""
        self.scene.member.server.node.resume()
