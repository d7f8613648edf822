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
