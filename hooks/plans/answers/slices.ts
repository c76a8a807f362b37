/** The list of slices for what agents are told. */

import { goneLine, healthText, riskLine, roleHeadings, roleLine, teamHeadings } from "../../lead/answers.ts";
import type { FileNote } from "../../seam/slices.ts";
import { baseHeadings, baseLines, type Heading, type NoteLine } from "./notes.ts";

/** In the order in which an answer names them. */
export const noteHeadings: readonly Heading[] = [...teamHeadings, ...baseHeadings, ...roleHeadings];

export const noteLines: { readonly [W in FileNote["what"]]: NoteLine<FileNote> } = {
  ...baseLines,
  role: roleLine,
  risk: riskLine,
  teammate_gone: goneLine,
};

/** Notes of what a person did: they are no words of other agents. */
export const notesOfPeople: ReadonlySet<FileNote["what"]> = new Set(["role"]);

/** Words what an agent is told besides. */
export const newsText = healthText;
