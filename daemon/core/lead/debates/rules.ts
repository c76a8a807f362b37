/** The rules of debates: see `core/rules.ts`. */
import { lasting } from "../../durability.ts";
import type { Rules } from "../../rules.ts";
import type { State } from "../../state.ts";
import { debateClose } from "./close.ts";
import type { DebateCommands } from "./commands.ts";
import { debateEnter } from "./enter.ts";
import { debateOpen } from "./open.ts";
import { moveSpeaker } from "./table.ts";
import { debateKept, debateNamed, mayReplace } from "./tasks.ts";

export const debateRules: Rules<DebateCommands, State> = {
  commands: {
    debate_open: lasting(debateOpen),
    debate_enter: lasting(debateEnter),
    debate_close: lasting(debateClose),
  },
  shared: ["debate_open", "debate_enter", "debate_close"],
  numbers: {
    kind: "d",
    tableIn: ({ debates }) => debates,
    usedBy: ({ type }) => (type === "debate_open" ? 1 : 0),
  },
  points: {
    sessionMoves: ({ debates }, from, to) => moveSpeaker(debates, from, to),
    debateNamed,
    debateKept,
    mayReplaceDebate: mayReplace,
  },
};
