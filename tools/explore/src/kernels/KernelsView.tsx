// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import type { ViewProps } from '../main';

export function KernelsView({ shown }: ViewProps) {
  return <p>{shown.explanation.model.name}</p>;
}
