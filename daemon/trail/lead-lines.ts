/** The list of the trail lines that leading features write of their events. */
import { mergeLines } from "../lead/merges/trail.ts";
import { spawnLines } from "../lead/spawns/trail.ts";
import type { EventLines } from "./event-fields.ts";

export const leadLines: EventLines = { ...spawnLines, ...mergeLines };
