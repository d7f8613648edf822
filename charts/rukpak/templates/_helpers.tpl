{{- define "rukpak.labels" -}}
{{ include "rukpak.instanceLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: rukpak
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end }}

{{- define "rukpak.instanceLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Selectors never change in the life of an object, so they hold nothing but the label that other tools know too. */}}
{{- define "rukpak.selector" -}}
app: core
{{- end }}

{{- define "rukpak.image" -}}
{{- with .Values.image -}}
{{- if .registry }}{{ .registry }}/{{ end }}{{ .repository }}
{{- if or .tag (not .digest) }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- if .digest }}@{{ .digest }}{{ end }}
{{- end -}}
{{- end }}

{{/* Labels as KEY=VALUE with commas between them. */}}
{{- define "rukpak.labelList" -}}
{{- $pairs := list -}}
{{- range $key, $value := . -}}
{{- $pairs = append $pairs (printf "%s=%s" $key $value) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end }}

{{/* The names of a list of references with commas between them. */}}
{{- define "rukpak.nameList" -}}
{{- $names := list -}}
{{- range . -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- join "," $names -}}
{{- end }}

{{/* Not empty where the webhook's clients need a certificate. */}}
{{- define "rukpak.webhookClientCA" -}}
{{- with .Values.webhook.clientCA -}}
{{- .configMap | default .secret -}}
{{- end -}}
{{- end }}
