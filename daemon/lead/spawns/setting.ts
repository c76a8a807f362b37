/** The setting `spawn`: other agents' clients, each by the words of its command. Only the user's own file may have it. */
import * as z from "zod";
import { limits } from "../../../protocol/limits.ts";

const word = z.string().max(limits.spawnWordBytes);
const words = z
  .array(word)
  .min(1)
  .max(limits.spawnWordsMax)
  .refine(all => all.some(one => one.includes("{prompt}")), {
    error: "expected a list of words of which one contains {prompt}",
  });

export const spawnClientsSchema = z
  .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/), words)
  .refine(all => Object.keys(all).length <= limits.spawnClientsMax, {
    error: `expected at most ${limits.spawnClientsMax} clients`,
  });
