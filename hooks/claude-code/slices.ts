/** The list of slices for calls of the client's own tools. */
import { type ToolSlice, teamCalls } from "../lead/team-calls.ts";

export const toolSlices: readonly ToolSlice[] = [teamCalls];
