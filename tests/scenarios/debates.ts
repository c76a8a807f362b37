/** Debates in a transcript: every line is about the debate that was opened last. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { standingsOf } from "../../daemon/core/lead/debates.ts";
import type { NewEntry } from "../../daemon/core/lead/tables/debates.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { Words } from "./tasks.ts";

/** The command that such a line stands for, or null where it is about something else; `as=person`: a person says it. */
export function debateCommand(
  state: State,
  actor: Actor,
  verb: string,
  { plain, named }: Words,
): Command | null {
  const by = named.get("as") === "person" ? null : actor;
  const debate = [...state.debates.all.keys()].at(-1) ?? "";
  const [first = "", ...rest] = plain;
  const text = rest.join(" ");
  const enter = (entry: NewEntry): Command => ({ type: "debate_enter", by, debate, entry, wallMs: 0 });
  switch (verb) {
    case "debate_open": {
      const hypotheses = first.split(",").map(name => ({ name, claim: `it is the ${name}` }));
      const participants = named.get("with")?.split(",") ?? null;
      return { type: "debate_open", by, project: "/p", question: text, hypotheses, participants, wallMs: 0 };
    }
    case "debate_challenge":
      return enter({ kind: "challenge", hypothesis: first, text });
    case "debate_evidence":
      return enter({ kind: "evidence", hypothesis: first, text, against: named.has("against") });
    case "debate_answer":
      return enter({ kind: "answer", challenge: Number(first), text });
    case "debate_concede":
      return enter({ kind: "concede", hypothesis: first, text: text === "" ? null : text });
    case "debate_close": {
      const force = named.has("force");
      return { type: "debate_close", by, debate, verdict: first, because: text, force, wallMs: 0 };
    }
    default:
      return null;
  }
}

/** Every debate with where its hypotheses stand, a line each. */
export function shownDebates({ debates }: State): string[] {
  const lines = [...debates.all.values()].map(debate => {
    const { id, verdict } = debate;
    const standings = standingsOf(debate, verdict?.alone).map(
      ({ name, conceded, challenges, unanswered }) => {
        const open = unanswered.length === 0 ? "" : `, unanswered ${unanswered.join(" + ")}`;
        return `${name} ${conceded ? "conceded" : `challenged ${challenges}${open}`}`;
      },
    );
    const ended =
      verdict === null
        ? "open"
        : `${verdict.name}${verdict.forced ? " by force" : verdict.alone ? " alone" : ""}`;
    return `${id}: ${ended}; ${standings.join("; ")}`;
  });
  return lines.length === 0 ? ["there are no debates"] : lines;
}
