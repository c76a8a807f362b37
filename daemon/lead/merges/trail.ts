/** What the trail says of merges. */
import { personOnWire } from "../../../protocol/names.ts";
import { shortName } from "../../core/lead/merges.ts";
import type { EventLines } from "../../trail/event-fields.ts";

export const mergeLines: EventLines = {
  merge_changed: ({ merge, base, branch, state, commit, reason, by }) => {
    const more = [commit?.slice(0, 7), reason].filter(one => one !== null && one !== undefined).join(": ");
    const why = `${merge} ${shortName(branch)} into ${shortName(base)}: ${state}${more === "" ? "" : ` (${more})`}`;
    return [{ by: by ?? { id: null, name: personOnWire }, rule: "merge", type: state, why }];
  },
};
