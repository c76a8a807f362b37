import type { Actor } from "../../daemon/core/frame/actors.ts";
import { type Debate, debateOf, type NewEntry } from "../../daemon/core/lead/tables/debates.ts";
import { lettersOf } from "../../daemon/core/messages/inbox.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { inboxKey } from "../../daemon/core/tables/messages.ts";
import { actor, World } from "./core-world.ts";

type Who = string | Actor | null;
type Open = Extract<Command, { type: "debate_open" }>;
type Close = Extract<Command, { type: "debate_close" }>;

const actorOf = (who: Who) => (who === null ? null : actor(who));

/** A debate about `race` and `leak`, unless `more` says otherwise. */
export function openOf(by: Who = "ann", more: Partial<Open> = {}): Open {
  return {
    type: "debate_open",
    by: actorOf(by),
    project: "/p",
    question: "Why does it hang?",
    hypotheses: hypotheses("race", "leak"),
    participants: null,
    wallMs: 0,
    ...more,
  };
}

export function hypotheses(...names: readonly string[]): Open["hypotheses"] {
  return names.map(name => ({ name, claim: `it is a ${name}` }));
}

export function enterOf(by: Who, debate: string, entry: NewEntry): Command {
  return { type: "debate_enter", by: actorOf(by), debate, project: "/p", entry, wallMs: 0 };
}

export function closeOf(by: Who, debate: string, verdict: string, more: Partial<Close> = {}): Close {
  const said = { because: "it is", force: false, wallMs: 0 };
  return { type: "debate_close", by: actorOf(by), debate, verdict, ...said, ...more };
}

/** The core with one debate in mind. */
export class DebateWorld extends World {
  /** The id of the debate that was opened last. */
  debate = "";

  open(by: Who = "ann", more: Partial<Open> = {}): Reply {
    const reply = this.do(openOf(by, more));
    if (reply.ok) this.debate = String(reply["debate"]);
    return reply;
  }

  challenge(by: Who, hypothesis: string, text = "really?"): Reply {
    return this.do(enterOf(by, this.debate, { kind: "challenge", hypothesis, text }));
  }

  evidence(by: Who, hypothesis: string, against = false): Reply {
    return this.do(enterOf(by, this.debate, { kind: "evidence", hypothesis, text: "I saw it", against }));
  }

  answer(by: Who, challenge: number, text = "yes"): Reply {
    return this.do(enterOf(by, this.debate, { kind: "answer", challenge, text }));
  }

  concede(by: Who, hypothesis: string, text: string | null = null): Reply {
    return this.do(enterOf(by, this.debate, { kind: "concede", hypothesis, text }));
  }

  close(by: Who, verdict: string, more: Partial<Close> = {}): Reply {
    return this.do(closeOf(by, this.debate, verdict, more));
  }

  get known(): Debate {
    return debateOf(this.state.debates, this.debate);
  }

  /** The texts in somebody's inbox, oldest first. */
  inbox(session: string, agent: string | null = null): string[] {
    const key = inboxKey({ id: session, agent });
    return [...lettersOf(this.state.messages, key)].map(([{ text }]) => text);
  }

  /** Shows everything to somebody, who then goes on. */
  reads(session: string): void {
    const reader = actor(session);
    for (let isMore = true; isMore; ) {
      const reply = this.do({ type: "inbox_take", actor: reader, max: 100, chars: 1_000_000 });
      const rows = reply.ok ? (reply["messages"] as readonly { readonly id: string }[]) : [];
      const messages = rows.map(({ id }) => id);
      this.do({ type: "inbox_told", actor: reader, messages, heard: true });
      isMore = rows.length > 0;
    }
  }

  /** The events of the latest command, as names, and what happened to a debate. */
  get events(): string[] {
    return (this.steps.at(-1)?.events ?? []).map(({ event }) =>
      event.event === "debate_changed" ? `debate ${event.what}` : event.event,
    );
  }
}
