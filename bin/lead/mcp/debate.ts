/** The tool of debates: kite_debate, with a verb for each step. */
import type { Tool } from "../../mcp/tool.ts";
import { verbTool } from "../../verbs/tool.ts";
import { debateVerbs } from "../debates/verbs.ts";

export const debateTools: readonly Tool[] = [
  verbTool({
    name: "kite_debate",
    title: "Debate",
    description:
      "Before you commit to an explanation or design: open(question, hypotheses), challenge or evidence(debate, " +
      "hypothesis, text), answer(debate, challenge: its entry, text), concede(debate, hypothesis), close(debate, verdict: " +
      "name, because), show(debate), list. Closes once each rival was challenged or conceded, the verdict's challenges " +
      "answered, and another agent challenged.",
    verbs: debateVerbs,
  }),
];
