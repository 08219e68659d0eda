"""What a seat may know: the question as bytes, and the view that a bot is handed.

A question is one compact message. The public events since the seat's last question ride along with it; the other side
rebuilds everything from them, so that no event costs a message of its own. Private bytes (the hand, taken cards, own
discards) go into the stream of their seat alone: what a seat may not know is never in a message to it.

Question, little-endian: u16 length of the rest, u16 question number, u8 kind (`Phase`), u8 number of legal actions, the
legal actions (a byte a bid or card; discards a byte a card), then events. Events by their first byte:

    0-51       a card is played by the seat whose turn it is
    0x40-0x44  a bid of that seat, 0x40 a pass
    0x50-0x53  from now on the house plays the seat
    0x60       a deal begins: u32 number, u32 attempt, u8 dealer, the six cards of this seat
    0x61       it was scored: sides of High, Low, Jack, Game (255 nobody), i32 score per side
    0x62       it was thrown in
    0x70       this seat took cards: as many bytes as the rules let it take
    0x71       this seat discarded cards, likewise
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from tournament.cards import CARDS, POWER, SUITS, Card
from tournament.deal import BID, DISCARD, PLAY, Action, Deal, Phase, Points
from tournament.game import BID_CODE, DealtDeal, Game
from tournament.rules import HAND_SIZE, Limits, Rules
from tournament.view import Bid, PastDeal, Trick, View, new_view, set_fields, set_origin

_HOUSE, _DEAL, _SCORED, _THROWN_IN, _TAKEN, _DISCARDED = 0x50, 0x60, 0x61, 0x62, 0x70, 0x71
_NOBODY: Final = 255
_HEAD: Final = struct.Struct("<HHBB")
_BEGIN: Final = struct.Struct("<BIIB")
_SCORES: Final = {sides: struct.Struct(f"<B4B{sides}i") for sides in (2, 3)}

LENGTH_BYTES: Final = 2
"""The u16 in front of a question; what `QuestionReader.read` is given begins behind it."""


class QuestionWriter:
    """The referee's half: writes the questions of one game, public events encoded once for all seats."""

    __slots__ = ("_acts", "_ended", "_game", "_pending", "_sent")

    def __init__(self, game: Game) -> None:
        """Listens to `game`, which has not begun to play."""
        self._game = game
        self._acts = game.acts
        # What a seat is to be told ahead of the acts from `_sent` on; and how the last deal ended, for all of them.
        self._pending = [b""] * game.rules.players
        self._sent = [0] * game.rules.players
        self._ended = b""
        game.listener = self

    def question(self, seat: int, number: int, kind: Phase, legal: Sequence[Action]) -> bytes:
        """Returns the next question to `seat`, with all events since its last one.

        Args:
            seat: whom to ask.
            number: the question's number, 0 to 65535, which the answer has to repeat.
            kind: BID, DISCARD or PLAY.
            legal: the legal actions in their order.
        """
        actions = bytes(chain.from_iterable(legal)) if kind is DISCARD else bytes(legal)  # type: ignore[arg-type]
        events = self.events(seat)
        return _HEAD.pack(4 + len(actions) + len(events), number, kind, len(legal)) + actions + events

    def events(self, seat: int) -> bytes:
        """Returns all events that `seat` has not been told yet; from now on it has."""
        acts, sent, pending = self._acts, self._sent, self._pending
        begin = sent[seat]
        events = pending[seat] + acts[begin:]
        pending[seat] = b""
        sent[seat] = len(acts)
        return events

    def waiting(self, seat: int) -> int:
        """Returns how many bytes `events` would return."""
        return len(self._pending[seat]) + len(self._acts) - self._sent[seat]

    def _tell(self, seat: int, event: bytes, upto: int | None = None) -> None:
        """Puts an event behind the acts so far, or those up to `upto`; acts behind it up to now are not told."""
        acts, begin = self._acts, self._sent[seat]
        self._pending[seat] += acts[begin:upto] + event
        self._sent[seat] = len(acts)

    def deal_begun(self, dealt: DealtDeal) -> None:
        """Tells every seat its hand, and how the last deal ended."""
        head = self._ended + _BEGIN.pack(_DEAL, dealt.number, dealt.attempt, dealt.dealer)
        self._ended = b""
        for seat, hand in enumerate(dealt.deal.hands):
            self._pending[seat] = self.events(seat) + head + bytes(hand)

    def cards_taken(self, deal: Deal) -> None:
        """Tells the bidder, and nobody else, what it took."""
        self._tell(deal.bidder, bytes([_TAKEN, *deal.taken]))

    def cards_discarded(self, deal: Deal, act_start: int) -> None:
        """Tells the bidder, and nobody else, what it discarded."""
        for seat in range(deal.rules.players):
            self._tell(seat, bytes([_DISCARDED, *deal.discards]) if seat == deal.bidder else b"", act_start)

    def deal_ended(self, dealt: DealtDeal) -> None:
        """Keeps the points and the scores, for every seat to be told with its next hand."""
        scores = dealt.scores
        if scores is None:
            self._ended = bytes([_THROWN_IN])
        else:
            sides = [_NOBODY if side is None else side for side in dealt.deal.points]
            self._ended = _SCORES[len(scores)].pack(_SCORED, *sides, *scores)

    def house_plays(self, seat: int) -> None:
        """Tells every seat that the house plays one of them on."""
        for each in range(len(self._pending)):
            self._tell(each, bytes([_HOUSE | seat]))


class QuestionReader:
    """The bot's half: turns questions into views; what it never needs is never decoded."""

    __slots__ = ("_record", "_stream", "_writer", "limits", "rules", "seat")

    def __init__(self, rules: Rules, limits: Limits, seat: int, writer: QuestionWriter | None = None) -> None:
        """Starts with an empty table, before the first question of a game.

        Args:
            rules: the rules of the game.
            limits: what the views show.
            seat: whose half it is.
            writer: the referee's half, if it is in the same process: events are then fetched when a view is looked at.
        """
        self.rules = rules
        self.limits = limits
        self.seat = seat
        self._writer = writer
        self._stream = bytearray()
        self._record = _Record(rules, seat)

    def read(self, question: bytes) -> tuple[int, Phase, bytes, View]:
        """Reads a question, without its two length bytes.

        Returns:
            The question's number, its kind, the legal actions as bytes, and the view.
        """
        kind = question[2]
        end = 4 + question[3]
        stream = self._stream
        view = new_view(View)
        if kind == _PLAY:
            legal = question[4:end]
            stream += question[end:]
            set_fields(view, {"legal": itemgetter(*legal)(CARDS)})  # two or more, or nobody were asked
        elif kind == _BID:
            legal = question[4:end]
            stream += question[end:]
            set_fields(view, {"legal": tuple(legal)})
        else:
            # Some eighty combinations, which a bot that discards by default never looks at.
            end = 4 + question[3] * self.rules.bidder_takes
            legal = question[4:end]
            stream += question[end:]
        set_origin(view, (self, len(stream), legal))
        return question[0] | question[1] << 8, _PHASES[kind], legal, view

    def look(self, kind: Phase, legal: Sequence[Action]) -> View:
        """Returns the view that `read` would, of a question that is never written; for a reader with a writer."""
        assert self._writer is not None
        view = new_view(View)
        if kind is PLAY:
            set_fields(view, {"legal": itemgetter(*legal)(CARDS)})
        elif kind is BID:
            set_fields(view, {"legal": tuple(legal)})
        set_origin(view, (self, len(self._stream) + self._writer.waiting(self.seat), legal))
        return view

    def _fetch(self) -> None:
        """Brings the events up to date where the writer is at hand."""
        if self._writer is not None:
            self._stream += self._writer.events(self.seat)

    @property
    def stream(self) -> bytes:
        """All events of this seat so far: with the last legal actions enough to come to the same view again."""
        self._fetch()
        return bytes(self._stream)

    def resume(self, stream: bytes) -> None:
        """Takes over another reader's `stream`, to go on where it stood."""
        self._stream[:] = stream
        self._record = _Record(self.rules, self.seat)

    def hand_with_taken(self) -> bytes:
        """Returns the cards to discard from, at a question for discards: read off the events without following them."""
        self._fetch()
        stream = self._stream
        taken = len(stream) - self.rules.bidder_takes
        end = taken - 1
        while stream[end - 1] & 0xF0 == BID_CODE:  # the last deal's cards, its bids, then what was taken
            end -= 1
        return bytes(stream[end - HAND_SIZE : end] + stream[taken:])

    def deals_begun_now(self) -> int:
        """Returns how many deals have been dealt so far."""
        self._fetch()
        self._record.follow(self._stream, len(self._stream))
        return self._record.deals_begun

    def fill(self, view: View, end: int, legal: bytes | Sequence[Action]) -> None:
        """Fills in a view's attributes as of byte `end` of the stream; `legal` are its actions."""
        if len(self._stream) < end:
            self._fetch()
        record = self._record
        if record.at > end:  # an older view, looked at only now
            record = _Record(self.rules, self.seat)
        record.follow(self._stream, end)
        actions = view.__dict__.get("legal")
        set_fields(view, record.fields(self.limits, self.discards(legal) if actions is None else actions))

    def choices(self, legal: bytes | Sequence[Action]) -> Sequence[tuple[int, ...]]:
        """Returns what may be discarded as tuples of the engine's cards."""
        if isinstance(legal, bytes):
            return list(struct.iter_unpack(f"{self.rules.bidder_takes}B", legal))
        return legal  # type: ignore[return-value]  # in this phase an action is a tuple of cards

    def discards(self, legal: bytes | Sequence[Action]) -> tuple[tuple[Card, ...], ...]:
        """Returns what may be discarded as a view shows it."""
        indexes = legal if isinstance(legal, bytes) else chain.from_iterable(self.choices(legal))
        cards = map(CARDS.__getitem__, indexes)
        return tuple(zip(*[cards] * self.rules.bidder_takes, strict=True))  # so many at a time


_PHASES: Final = (BID, DISCARD, PLAY)
_BID, _PLAY = int(BID), int(PLAY)


# `Trick(...)` goes through a function of Python that does just this, and takes twice as long.
_new_trick: Final = tuple.__new__


class _Record:
    """What a seat has seen, followed event by event."""

    def __init__(self, rules: Rules, seat: int) -> None:
        self.rules = rules
        self.players = rules.players
        self.seat = seat
        self.side = rules.side_of(seat)
        self.at = 0
        self.deals_begun = 0
        self.scores: tuple[int, ...] = (0,) * rules.side_count
        self.house: tuple[int, ...] = ()
        self.history: tuple[PastDeal, ...] = ()
        self._begin(0, 0, 0, ())

    def _begin(self, number: int, attempt: int, dealer: int, hand: Sequence[int]) -> None:
        self.number, self.attempt, self.dealer = number, attempt, dealer
        self.hand = [CARDS[index] for index in hand]
        self.bids: list[Bid] = []
        self.bidder: int | None = None
        self.bid = 0
        self.trump: str | None = None
        self.turn = (dealer + 1) % self.rules.players
        self.leader = -1
        self.trick: list[Card] = []
        self.tricks: list[Trick] = []
        self.taken: tuple[Card, ...] = ()
        self.discards: tuple[Card, ...] = ()

    def follow(self, stream: bytearray, end: int) -> None:
        """Follows the events up to byte `end`."""
        at = self.at
        while at < end:
            code = stream[at]
            if code < 52:
                at = self._follow_cards(stream, at, end)
                continue
            at += 1
            if code & 0xF0 == BID_CODE:
                self._bid_made(code & 0x0F)
            elif code & 0xF0 == _HOUSE:
                self.house = tuple(sorted((*self.house, code & 0x0F)))
            elif code == _DEAL:
                _, number, attempt, dealer = _BEGIN.unpack_from(stream, at - 1)
                at += _BEGIN.size - 1
                self.deals_begun += 1
                self._begin(number, attempt, dealer, stream[at : at + HAND_SIZE])
                at += HAND_SIZE
            elif code == _SCORED:
                scored = _SCORES[self.rules.side_count]
                told = scored.unpack_from(stream, at - 1)
                at += scored.size - 1
                self.scores = told[5:]
                self._end(Points(*(None if side == _NOBODY else side for side in told[1:5])))
            elif code == _THROWN_IN:
                self._end(None)
            else:
                cards = tuple(map(CARDS.__getitem__, stream[at : at + self.rules.bidder_takes]))
                at += self.rules.bidder_takes
                if code == _TAKEN:
                    self.taken = cards
                    self.hand += cards
                else:
                    self.discards = cards
                    self.hand = [card for card in self.hand if card not in cards]
        self.at = at

    def _bid_made(self, bid: int) -> None:
        self.bids.append(Bid(self.turn, bid))
        if bid:
            self.bid, self.bidder = bid, self.turn
        self.turn = (self.turn + 1) % self.players
        if (bid == 4 or len(self.bids) == self.players) and self.bidder is not None:
            self.turn = self.leader = self.bidder

    def _follow_cards(self, stream: bytearray, at: int, end: int) -> int:
        """Follows the cards that begin at byte `at`; returns where something else begins."""
        players, seat, turn, trick = self.players, self.seat, self.turn, self.trick
        while at < end and (code := stream[at]) < 52:
            at += 1
            card = CARDS[code]
            trick.append(card)
            if turn == seat:
                self.hand.remove(card)
            if len(trick) < players:
                turn = turn + 1 if turn + 1 < players else 0
                continue
            if self.trump is None:
                self.trump = trick[0].suit
            power = POWER[SUITS.index(self.trump)][trick[0].index // 13]
            powers = [power[card.index] for card in trick]
            leader, turn = self.leader, (self.leader + powers.index(max(powers))) % players
            self.leader = turn
            self.tricks.append(_new_trick(Trick, (leader, tuple(trick), turn)))
            trick.clear()
        self.turn = turn
        return at

    def _end(self, points: Points | None) -> None:
        past = PastDeal(
            self.number, self.attempt, self.dealer, tuple(self.bids), self.bidder, self.bid, self.trump,
            tuple(self.tricks), points, self.scores,
        )  # fmt: skip
        self.history = (*self.history, past)

    def fields(self, limits: Limits, legal: tuple[Any, ...]) -> dict[str, Any]:
        """Returns all fields of a view."""
        trick = tuple(self.trick)
        return {
            "rules": self.rules,
            "limits": limits,
            "seat": self.seat,
            "side": self.side,
            "legal": legal,
            "dealer": self.dealer,
            "deal": self.number,
            "attempt": self.attempt,
            "hand": tuple(self.hand),
            "bids": tuple(self.bids),
            "bidder": self.bidder,
            "bid": self.bid,
            "trump": trick[0].suit if trick and self.trump is None else self.trump,
            "trick": _new_trick(Trick, (self.leader if self.leader >= 0 else self.turn, trick, None)),
            "tricks": tuple(self.tricks),
            "scores": self.scores,
            "taken": self.taken,
            "discards": self.discards,
            "history": self.history,
            "house": self.house,
        }
