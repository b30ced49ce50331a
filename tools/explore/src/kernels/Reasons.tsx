// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why something was not done, and what helps.
import type { Reason } from '../data';

export function Reasons({ reasons }: { reasons: Reason[] }) {
  return reasons.length === 0 ? null : <ul class="reasons">
    {reasons.map((reason) => <li key={`${reason.code} ${reason.at} ${reason.message}`}>
      <b>{reason.code}</b> {reason.message}{reason.at && <span class="quiet"> ({reason.at})</span>}
      {reason.helps?.map((help) => <div key={help} class="quiet">Help: {help}</div>)}
    </li>)}
  </ul>;
}
