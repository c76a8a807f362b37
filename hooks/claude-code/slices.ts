/** The list of slices for the rows of events. */
import { shellOwnFiles, writeOwnFiles } from "./answers/own-files.ts";
import { beforeCompletion, beforeFiles, beforeShell, beforeStop, beforeWrite } from "./lead/gate.ts";
import { teamCalls } from "./lead/team-calls.ts";
import type { Before, ToolSlice } from "./points.ts";

export const before: Before = {
  write: [writeOwnFiles, beforeWrite],
  shell: [shellOwnFiles, beforeShell],
  files: [beforeFiles],
  stop: [beforeStop],
  completion: [beforeCompletion],
};

export const toolSlices: readonly ToolSlice[] = [teamCalls];
