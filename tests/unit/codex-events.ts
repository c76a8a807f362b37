/** Recorded events of Codex. */
import { readFileSync } from "node:fs";
import { hookSchema } from "../../protocol/hook.ts";
import type { Payload } from "./hook-events.ts";

const folder = new URL("../fixtures/codex/", import.meta.url);

/** One recorded payload, as the daemon gets it. */
export function codexPayload(name: string): Payload {
  return hookSchema.parse({ event: JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8")) }).event;
}
