// Work of dies: its names, its colours.

import { theme } from "../parts/colour.js";

const RULES = [
  [/closed/, () => theme("--closed")],
  [/^idle/, () => theme("--empty")],
  [/erase/, () => "#d55e00"],
  [/suspend/, () => "#f0e442"],
  [/^gc/, () => "#cc79a7"],
  [/levelling|refresh|patrol|fold|merge|exchange/, () => "#e69f00"],
  [/map|decode|encode/, () => "#009e73"],
  [/program/, () => "#0072b2"],
  [/read/, () => "#56b4e9"],
  [/wait|data/, () => theme("--wait")],
];

export function colourOfWork(name) {
  const rule = RULES.find(([pattern]) => pattern.test(name));
  return rule ? rule[1]() : "#e69f00";
}
