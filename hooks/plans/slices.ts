/** The list of what slices add to the plans of events and to their answers. */

import {
  beforeCompletion,
  beforeFiles,
  beforePatch,
  beforeShell,
  beforeStop,
  beforeWrite,
  goneLine,
  healthText,
  riskLine,
  roleHeadings,
  roleLine,
  teamHeadings,
} from "../lead/answers.ts";
import type { FileNote } from "../seam/slices.ts";
import { baseHeadings, baseLines, type Heading, type NoteLine } from "./answers/notes.ts";
import { patchOwnFiles, shellOwnFiles, writeOwnFiles } from "./answers/plain-files.ts";
import type { Before } from "./plan-parts.ts";

/** What is asked before a step. */
export const before: Before = {
  write: [writeOwnFiles, beforeWrite],
  patch: [patchOwnFiles, beforePatch],
  shell: [shellOwnFiles, beforeShell],
  files: [beforeFiles],
  stop: [beforeStop],
  completion: [beforeCompletion],
};

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
