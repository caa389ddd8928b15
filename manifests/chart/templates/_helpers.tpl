{{/* Labels of every object. Pods have none of them, so that a new version of the chart alone starts nothing anew. */}}
{{- define "wastenot.labels" -}}
app.kubernetes.io/part-of: wastenot
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end }}

{{/* The image of a component, from (list $ .Values.COMPONENT.image). A digest wins over a tag. */}}
{{- define "wastenot.image" -}}
{{- $root := index . 0 -}}
{{- $own := index . 1 -}}
{{- $name := $own.repository -}}
{{- with $own.registry | default $root.Values.image.registry -}}
{{- $name = printf "%s/%s" . $name -}}
{{- end -}}
{{- if $own.digest -}}
{{- printf "%s@%s" $name $own.digest -}}
{{- else -}}
{{- printf "%s:%s" $name ($own.tag | default $root.Values.image.tag | default $root.Chart.AppVersion) -}}
{{- end -}}
{{- end }}

{{/* What all pods say about where they run, from (list $ .Values.COMPONENT). */}}
{{- define "wastenot.placement" -}}
{{- $root := index . 0 -}}
{{- $own := index . 1 -}}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Refuses what would install and then not work. */}}
{{- define "wastenot.check" -}}
{{- if has .Release.Namespace (list "default" "kube-system" "kube-public" "kube-node-lease") -}}
{{- fail (printf "namespace %s: Wastenot needs one of its own, whose pods it does not judge; add --namespace wastenot-system --create-namespace" .Release.Namespace) -}}
{{- end -}}
{{- if and .Values.criticalPodQuota.create .Values.priorityClassName -}}
{{- $scheduler := int .Values.scheduler.replicas -}}
{{- $webhook := ternary (add1 (int .Values.webhook.replicas)) 0 .Values.webhook.enabled -}}
{{- $needed := add 1 $scheduler (ceil (divf $scheduler 4)) $webhook -}}
{{- if lt (int .Values.criticalPodQuota.pods) (int $needed) -}}
{{- fail (printf "criticalPodQuota.pods: %d; these replicas and their rollouts need %d" (int .Values.criticalPodQuota.pods) (int $needed)) -}}
{{- end -}}
{{- end -}}
{{- end }}
