/** The list of the features' settings, in the order in which people see them, and of the sections of a project's file. */

import {
  checkSections,
  gateSettings,
  healthSettings,
  spawnSettings,
  teamSettings,
} from "../lead/settings.ts";
import {
  ignoreSettings,
  lockSettings,
  modeSettings,
  nameSections,
  notifySettings,
  rescueSettings,
  storeSettings,
  titleSettings,
} from "./base-settings.ts";

export const settings = {
  ...modeSettings,
  ...lockSettings,
  ...gateSettings,
  ...spawnSettings,
  ...teamSettings,
  ...healthSettings,
  ...notifySettings,
  ...titleSettings,
  ...ignoreSettings,
  ...rescueSettings,
  ...storeSettings,
};

export const sections = { ...checkSections, ...nameSections };
