/** What replies say of a store that is away: whoever asked hears once as of when its tasks and messages are. */

import { storeUnknown } from "../protocol/codes.ts";
import type { Answer, RequestType } from "../protocol/schemas/requests.ts";
import type { StoreStale } from "../protocol/schemas/store.ts";
import { isObject } from "../protocol/wire.ts";
import type { Client } from "./process-context.ts";

/** What the replies of one command or tool call said. */
export interface StaleReads<C> {
  readonly client: C;
  /** The oldest `storeAsOf` of the replies so far: null if nothing is known; undefined: none had one. */
  readonly asOf: () => number | null | undefined;
}

/** Returns the client, as one that notes what its replies say. */
export function notingStale<C extends Pick<Client, "request">>(client: C): StaleReads<C> {
  let oldest: number | null | undefined;
  const request = async (...params: Parameters<C["request"]>): Promise<Answer<RequestType>> => {
    const answer = await (client.request as (...all: unknown[]) => Promise<Answer<RequestType>>)(...params);
    const asOf = staleIn(answer);
    if (asOf !== undefined && oldest !== null)
      oldest = asOf === null || oldest === undefined ? asOf : Math.min(oldest, asOf);
    return answer;
  };
  const noting = new Proxy(client, {
    get(target, name) {
      if (name === "request") return request;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { client: noting, asOf: () => oldest };
}

/** Returns `storeAsOf` of a reply. */
function staleIn(answer: unknown): StoreStale["storeAsOf"] {
  const asOf = isObject(answer) ? answer["storeAsOf"] : undefined;
  return asOf === null || typeof asOf === "number" ? asOf : undefined;
}

/** Returns the refusal of a list that is empty because nothing is known of the project; null: it is empty. */
export function unknownIn(pages: readonly unknown[]): typeof storeUnknown | null {
  return pages.some(page => staleIn(page) === null) ? storeUnknown : null;
}
