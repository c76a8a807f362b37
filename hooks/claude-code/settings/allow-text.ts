/** Adds and removes Kite's permission rule in the text of the client's settings. */
import { SettingsRefused } from "../../install/failed.ts";
import { append, member, parseObject, readValue, remove } from "../../install/json-text.ts";

/** The rule lets agents call Kite's tools without asking a person each time. */
export const toolsRule = "mcp__kite";

/** The objects created for the rule, which its removal removes too. */
export interface AllowMade {
  readonly permissions: boolean;
  readonly list: boolean;
}

/** Returns the settings with the rule in `permissions.allow`; `made` is null if it was already there. */
export function addAllow(
  text: string,
  rule: string,
): { readonly text: string; readonly made: AllowMade | null } {
  const { root, permissions, list } = placesIn(text);
  if (permissions === null) {
    return {
      text: append(text, root, "permissions", { allow: [rule] }),
      made: { permissions: true, list: true },
    };
  }
  if (list === null) {
    return { text: append(text, permissions, "allow", [rule]), made: { permissions: false, list: true } };
  }
  if (list.children.some(child => readValue(text, child.value) === rule)) return { text, made: null };
  return { text: append(text, list, null, rule), made: { permissions: false, list: false } };
}

/** Returns the settings without the rule, and without objects that were created for it and are empty now. */
export function removeAllow(text: string, rule: string, made: AllowMade): string {
  const { list } = placesIn(text);
  const index = list?.children.findIndex(child => readValue(text, child.value) === rule) ?? -1;
  if (list === null || index === -1) return text;
  let next = remove(text, list, index);
  if (!made.list) return next;
  const after = placesIn(next);
  if (after.list === null || after.permissions === null || after.list.children.length > 0) return next;
  next = remove(next, after.permissions, indexOf(after.permissions.children, "allow"));
  const { root, permissions } = placesIn(next);
  const isOver = made.permissions && permissions?.children.length === 0;
  return isOver ? remove(next, root, indexOf(root.children, "permissions")) : next;
}

function placesIn(text: string) {
  const root = parseObject(text);
  const permissions = member(root, "permissions")?.value ?? null;
  if (permissions === null) return { root, permissions, list: null };
  if (permissions.kind !== "object") throw new SettingsRefused('"permissions" is not an object');
  const list = member(permissions, "allow")?.value ?? null;
  if (list !== null && list.kind !== "array") throw new SettingsRefused('"permissions.allow" is not a list');
  return { root, permissions, list };
}

function indexOf(children: readonly { readonly key: string }[], key: string): number {
  return children.findLastIndex(child => child.key === key);
}
